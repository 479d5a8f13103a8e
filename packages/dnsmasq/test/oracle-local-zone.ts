import {
  addressRecords,
  type NameServerRequest,
  type Question,
  type Response,
} from '@kube-dns/testkit';

/** The data distinguish upstream’s answers from local ones. */
export function respond({ type }: NameServerRequest): Response {
  if (type === 'A') return { answers: addressRecords(60, '10.99.99.99') };
  if (type === 'AAAA') return { answers: [{ type: 'AAAA', ttl: 60, data: 'fd99::1' }] };
  if (type === 'TXT') return { answers: [{ type: 'TXT', ttl: 60, data: 'upstream' }] };
  return {};
}

/** `name TYPE` for each question; the type is A where there is none. */
export function questions(...texts: string[]): Question[] {
  return texts.map((text) => {
    const [name = '', type = 'A'] = text.split(' ');
    return { name, type };
  });
}

/** What replaces HOSTS in the options. */
export const HOSTS = `# hosts
10.0.0.1 alpha Alpha.Example  # the first
10.0.0.2\talpha
10.0.0.1 beta
fd00::1 six alpha
not an address
1.2.3 x

10.0.0.6 tabbed#nospace
10.0.0.7 deep.er.in.hosts.example
::ffff:10.0.0.8 mapped
10.0.0.9 trailing.dot.
`;
/** A file in the directory that replaces FOLDER. */
export const MORE_HOSTS = '10.0.1.1 more\n10.0.0.1 again';
/** What replaces SERVERS; UPSTREAM in it is the scripted server. */
export const SERVERS_FILE = `server=/out.dom.x/UPSTREAM
server=/lo.x/
server=/9.10.in-addr.arpa/UPSTREAM
`;

/** Questions to both, which have the same options. */
export interface Group {
  readonly options: readonly string[];
  readonly questions: readonly Question[];
}
