/**
 * Replaces `$(NAME)` by the variable's value and `$$` by `$`. A reference to an unknown variable
 * stays as it is written (kubernetes/kubernetes third_party/forked/golang/expansion, Expand).
 */
export function expandVariables(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (match, name: string | undefined) =>
    name === undefined ? '$' : (variables.get(name) ?? match),
  );
}
