import { serviceVariable } from '../../src/config/cluster-service.js';
import type { TemplateCase } from './template-cases.js';

/** The Service whose address is that of the cluster's DNS. */
export const CLUSTER_SERVICE = 'kube-dns-upstream';
export const LOCAL_ADDRESSES = '169.254.20.10,10.96.0.10';

/** The variables that kubelet gives node-cache. */
export const environmentOf = ({ clusterDns = '10.96.0.20' }: TemplateCase) => ({
  [serviceVariable(CLUSTER_SERVICE)]: clusterDns,
});
