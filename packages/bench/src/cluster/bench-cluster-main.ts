import { serveRemote } from '../remote.js';
import { BenchCluster, type BenchClusterMethods } from './bench-cluster.js';

serveRemote<BenchClusterMethods>(new BenchCluster());
