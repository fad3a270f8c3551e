// The choice of a command that the server file declares. A command never comes from a page.

import { Field } from '../../components/field.tsx';
import { useGet } from '../../load.ts';
import type { Settings } from '../../resources.ts';

const UNDECLARED =
  'None is declared: add one under stdioServers in toolgate.yaml, and have the file read again (toolgate servers reload).';

export function CommandField({ value }: { value?: string | undefined }) {
  const { data } = useGet<Settings>('/settings');
  const names = data?.stdioServers ?? [];
  const none = data !== undefined && names.length === 0;
  return (
    <Field label="Command" hint={none ? UNDECLARED : 'Declared under stdioServers in the server file.'}>
      {ties => (
        <select {...ties} name="server" required>
          {names.map(name => (
            <option key={name} selected={name === value}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
