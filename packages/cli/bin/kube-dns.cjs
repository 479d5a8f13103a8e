#!/usr/bin/env node
require('../dist/kube-dns.cjs');
