const ZONE = 'svc.cluster.local';

/** A question, a piece of what explain says that CoreDNS would say, and what CoreDNS says: `RCODE TTL DATA`. */
export const COREDNS_ROWS: readonly (readonly [
  name: string,
  type: string,
  note: string,
  answer: RegExp,
])[] = [
  [`web.shop.${ZONE}`, 'A', 'TTL 5 in place of 30', /^NOERROR 5 10\.96\.20\.1$/],
  [`*.shop.${ZONE}`, 'A', 'it has no wildcards', /^NXDOMAIN$/],
  ['10-9-9-9.shop.pod.cluster.local', 'A', 'unless its Corefile has "pods insecure"', /^NXDOMAIN$/],
  [`10-244-1-5.web.shop.${ZONE}`, 'A', 'the address of the endpoint', /^NOERROR 5 10\.244\.1\.5$/],
  ['5.1.244.10.in-addr.arpa', 'PTR', 'the name of that endpoint', /^NOERROR 5 10-244-1-5\.web\./],
  [`web.shop.${ZONE}`, 'ANY', 'it does not answer ANY', /^NOERROR$/],
  [`_postgres._tcp.db.data.${ZONE}`, 'A', 'the name of a port', /^NOERROR 5 10\.244\.2\.1$/],
  [`_tcp.db.data.${ZONE}`, 'A', 'the names between a service and its ports', /^NXDOMAIN$/],
  ['7.1.244.10.in-addr.arpa', 'PTR', 'its address with dashes', /^NOERROR 5 10-244-1-7\.workers\./],
  [`db.data.${ZONE}`, 'SRV', 'other priorities and weights', /"priority":0,"weight":100/],
  ['cluster.local', 'SOA', 'other timers: 7200 1800 86400', /"refresh":7200,"retry":1800/],
];
