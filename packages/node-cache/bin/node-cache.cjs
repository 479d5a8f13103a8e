#!/usr/bin/env node
require('../dist/node-cache.cjs');
