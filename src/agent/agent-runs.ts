/**
 * What runs are under way. LangGraph gives all hooks of a run the same writer; agents inside a graph share it and are
 * told apart by their namespace. Nothing is kept in the agent's state, which its streams and checkpoints would show.
 */
export class AgentRuns<Run> {
  readonly #runs = new WeakMap<object, Map<string, Promise<Run>>>();

  /** The run of a hook; opened where it is not known, as after an interrupt, or where it begins (`isNew`). */
  of(
    writer: object | undefined,
    namespace: string,
    { open, isNew = false }: { readonly open: () => Promise<Run>; readonly isNew?: boolean },
  ): Promise<Run> {
    if (writer === undefined) {
      return open();
    }
    let runs = this.#runs.get(writer);
    if (runs === undefined) {
      runs = new Map();
      this.#runs.set(writer, runs);
    }
    const known = isNew ? undefined : runs.get(namespace);
    const run = known ?? open();
    runs.set(namespace, run);
    return run;
  }
}
