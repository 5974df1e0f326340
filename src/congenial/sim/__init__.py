"""The simulator: discrete-event runs of any algorithm, with faults and measurements."""
