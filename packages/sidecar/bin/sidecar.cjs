#!/usr/bin/env node
require('../dist/sidecar.cjs');
