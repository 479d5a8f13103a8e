/** The version of the bundle that runs. The bundler puts it in for this very expression. */
export const VERSION = process.env.KUBE_DNS_VERSION ?? 'dev';
