/** The kinds of the lists that are read, by the last part of their paths. */
const LIST_KINDS: Readonly<Record<string, string>> = {
  services: 'ServiceList',
  endpointslices: 'EndpointSliceList',
  endpoints: 'EndpointsList',
  namespaces: 'NamespaceList',
  configmaps: 'ConfigMapList',
};

/** The kind of the list at this path of the API, as `ServiceList`. */
export function listKind(path: string): string {
  const kind = LIST_KINDS[path.slice(path.lastIndexOf('/') + 1)];
  if (kind === undefined) throw new Error(`no kind of list is known for ${path}`);
  return kind;
}
