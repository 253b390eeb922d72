#!/usr/bin/env bash
# Every case file under tests/cases.
exec tests/run-cases
