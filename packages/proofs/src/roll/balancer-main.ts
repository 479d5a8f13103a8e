import { serveRemote } from '@kube-dns/bench';
import { Balancer, type BalancerMethods } from './balancer.js';

serveRemote<BalancerMethods>(new Balancer());
