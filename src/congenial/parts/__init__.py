"""What algorithms are made of: quorum systems, trees, networks, detectors, consensus."""
