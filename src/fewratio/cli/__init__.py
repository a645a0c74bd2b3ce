"""The frame of the command line: options, files, answers and error messages."""
