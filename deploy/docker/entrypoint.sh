#!/bin/sh
# The first word may be one of the programs, such as tensorflow_model_server; else all words are arguments of kserving.
if [ -f "/opt/kserving/bin/${1:-}" ]; then
  exec "$@"
fi
exec kserving "$@"
