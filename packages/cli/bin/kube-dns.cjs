#!/usr/bin/env -S node --disable-sigusr1
require('../dist/kube-dns.cjs');
