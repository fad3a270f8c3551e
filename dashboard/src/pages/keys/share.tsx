// Makes a tool server of a key's MCP server, so that other keys can use it too.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Named } from '../../components/text.tsx';
import type { ConnectedTool, ToolServer } from '../../resources.ts';
import { NameField, textIn } from './tool-fields.tsx';

export function Share({ path, tool, onShared }: { path: string; tool: ConnectedTool; onShared: () => void }) {
  const [open, setOpen] = useState(false);
  const share = async (form: FormData) => {
    const server = await post<ToolServer>(`${path}/share`, { name: textIn(form, 'name') });
    announce(`Shared: ${server.name}`);
    onShared();
  };
  return (
    <>
      <button type="button" class="plain small" onClick={() => setOpen(true)}>
        Share
      </button>
      <FormDialog
        title={`Share ${tool.name}?`}
        open={open}
        onClose={() => setOpen(false)}
        action="Share"
        submit={share}
      >
        <p>
          <Named text={tool.name} /> becomes a tool server that other keys can use too. For this key nothing
          changes: its tools keep their names, and accepted definitions and sign-ins stay. From then on they
          hold for every key that uses the server.
        </p>
        <NameField value={tool.name} hint="What it is called among the tool servers." />
      </FormDialog>
    </>
  );
}
