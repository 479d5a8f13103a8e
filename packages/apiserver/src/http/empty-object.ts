/** What a bookmark has beside its metadata, by kind: the fields of a type of Go that are never left out. */
const FIELDS: Readonly<Record<string, object>> = {
  EndpointSlice: { addressType: '', endpoints: null, ports: null },
  Namespace: { spec: {}, status: {} },
  Node: { spec: {}, status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } } } },
  Pod: { spec: { containers: null }, status: {} },
  Service: { spec: {}, status: { loadBalancer: {} } },
};

/** The fields of an object of a kind to which nothing was given. */
export function emptyFields(kind: string): object {
  return FIELDS[kind] ?? {};
}
