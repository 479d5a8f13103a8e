import { stringFlag } from '@kube-dns/daemon';

/** The flags of kubernetes/dns cmd/node-cache/main.go, names and defaults unchanged, then our own. */
export const FLAGS = {
  localip: stringFlag('', 'addresses to listen on, separated by commas'),
};
