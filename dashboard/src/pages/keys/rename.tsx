// The form that changes the name under which a key has a shared server. Everything else is changed at the server.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { patch } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import type { ConnectedTool } from '../../resources.ts';
import { NameField, textIn } from './tool-fields.tsx';

export function Rename({
  path,
  tool,
  onChanged,
}: {
  path: string;
  tool: ConnectedTool;
  onChanged: () => void;
}) {
  const [open, setOpen] = useState(false);
  const rename = async (form: FormData) => {
    const name = textIn(form, 'name');
    if (name === tool.name) return;
    await patch(path, { name });
    announce(`Changed: ${name}`);
    onChanged();
  };
  return (
    <>
      <button type="button" class="plain small" onClick={() => setOpen(true)}>
        Rename
      </button>
      <FormDialog
        title={`Rename ${tool.name}`}
        open={open}
        onClose={() => setOpen(false)}
        action="Save"
        submit={rename}
      >
        <NameField
          value={tool.name}
          hint="Prefix of its tools for this key. Policies name them by it: if you change it, change them too."
        />
      </FormDialog>
    </>
  );
}
