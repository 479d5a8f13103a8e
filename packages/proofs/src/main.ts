import { runCommandLine } from '@kube-dns/bench';
import { FUZZ } from './fuzz/fuzz.js';

runCommandLine('prove', [FUZZ]);
