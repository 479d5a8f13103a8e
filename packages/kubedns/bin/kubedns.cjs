#!/usr/bin/env node
require('../dist/kubedns.cjs');
