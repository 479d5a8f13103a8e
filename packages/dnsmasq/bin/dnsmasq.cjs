#!/usr/bin/env node
require('../dist/dnsmasq.cjs');
