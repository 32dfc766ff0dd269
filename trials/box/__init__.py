"""The simulated box: SGLang's command line, log, processes and HTTP over imagined GPUs."""
