/** The version of the running bundle. The bundler replaces exactly this expression. */
export const VERSION = process.env.KUBE_DNS_VERSION ?? 'dev';
