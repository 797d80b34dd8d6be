"""The run-time type checker of the tests: beartype, with an int wherever a float is welcome."""

from beartype import BeartypeConf, beartype

check_types = beartype(conf=BeartypeConf(is_pep484_tower=True))
