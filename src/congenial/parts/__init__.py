"""What algorithms are made of: quorum systems, trees, clocks."""
