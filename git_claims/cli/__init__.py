"""The command line: reads the world, prints results."""
