import { runCommandLine } from '@kube-dns/bench';

runCommandLine('prove', []);
