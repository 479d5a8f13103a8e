/** What `tsig-keygen -a ALGORITHM notify.example` of BIND 9.18 prints, with this secret. */
export function keyFile(algorithm = 'hmac-sha256', name = 'notify.example'): string {
  const secret = 'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=';
  return `key "${name}" {\n\talgorithm ${algorithm};\n\tsecret "${secret}";\n};\n`;
}
