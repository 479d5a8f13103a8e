import { runCommandLine } from '@kube-dns/bench';
import { FAULTS_COMMAND } from './faults/command.js';

runCommandLine('prove', [FAULTS_COMMAND]);
