// The tool servers that a new key begins with. Without one to choose from, nothing is shown.

import { useList } from '../../load.ts';
import type { ToolServer } from '../../resources.ts';

export function ServerChoice() {
  const { data = [], more } = useList<ToolServer>('/tool-servers', 'toolServers', { limit: 200 });
  if (data.length === 0) return null;
  return (
    <fieldset class="choices">
      <legend>Tool servers behind its MCP proxy</legend>
      {data.map(({ id, name }) => (
        <label key={id} class="check">
          <input type="checkbox" name="toolServers" value={name} />
          {name}
        </label>
      ))}
      {more !== null && (
        <button type="button" class="link" onClick={more}>
          Show more servers
        </button>
      )}
    </fieldset>
  );
}

/** The chosen ones, as the request for a new key names them. */
export function serversIn(form: FormData): { toolServers?: string[] } {
  const toolServers = form.getAll('toolServers').map(String);
  return toolServers.length === 0 ? {} : { toolServers };
}
