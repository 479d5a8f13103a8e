/** Node's modules that only encrypted servers need, loaded with the first: together they take 12 MiB (RSS). */
export const nodeTls = () => process.getBuiltinModule('node:tls');
export const nodeHttp2 = () => process.getBuiltinModule('node:http2');
