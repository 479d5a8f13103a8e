#!/usr/bin/env node
require('../dist/apiserver.cjs');
