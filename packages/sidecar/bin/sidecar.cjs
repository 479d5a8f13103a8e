#!/bin/sh
//usr/bin/env true; node="${0%/*}/node"; [ -f "$node" ] || node=node; "$node" --disable-sigusr1 -v >/dev/null 2>&1 || exec "$node" "$0" "$@"; exec "$node" --disable-sigusr1 "$0" "$@"
require('../dist/sidecar.cjs');
