import { serveRemote } from '@kube-dns/bench';
import { SoakCluster, type SoakClusterMethods } from './soak-cluster.js';

serveRemote<SoakClusterMethods>(new SoakCluster());
