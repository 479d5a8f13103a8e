import { serveRemote } from '@kube-dns/bench';
import { TcpAttacker, type TcpAttackerMethods } from './tcp-attacker.js';

serveRemote<TcpAttackerMethods>(new TcpAttacker());
