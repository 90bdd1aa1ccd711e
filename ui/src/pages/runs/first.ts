/** What to type where nothing has run yet: run a workflow that is there, or else save one. */
export function firstCommand(workflow: string | null, namespace: string | null): string {
  const what = workflow === null ? "windlass apply FILE.yaml" : `windlass run ${workflow}`;
  return namespace === null ? what : `${what} --namespace ${namespace}`;
}
