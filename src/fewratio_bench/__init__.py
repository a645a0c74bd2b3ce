"""The reproduction of the paper: experiments, their records, and tables made from the records."""
