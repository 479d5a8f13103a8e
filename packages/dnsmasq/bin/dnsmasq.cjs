#!/usr/bin/env -S node --disable-sigusr1
require('../dist/dnsmasq.cjs');
