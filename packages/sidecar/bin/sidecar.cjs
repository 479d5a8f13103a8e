#!/usr/bin/env -S node --disable-sigusr1
require('../dist/sidecar.cjs');
