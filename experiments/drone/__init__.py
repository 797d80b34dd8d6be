"""The VoliroX drone: its model, a simulator, and figures 3b and 4 of the paper."""
