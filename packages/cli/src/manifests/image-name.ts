/** The last part of an image's name, without registry, tag, digest and architecture: `kubedns`. */
export function imageName(image: string): string {
  const lastSegment = image.split('@', 1)[0]?.split('/').at(-1) ?? '';
  return lastSegment.replace(/:.*$/, '').replace(/-(?:amd64|arm|arm64|ppc64le|s390x)$/, '');
}
