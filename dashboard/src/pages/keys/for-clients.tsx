// What MCP clients get of a key for a call that waits: the two switches of its form, and what they say in its facts.

import { useId } from 'preact/hooks';
import type { Key } from '../../resources.ts';

const SWITCHES = [
  [
    'tasks',
    'A call that waits is a task',
    'Clients that know MCP’s tasks need not call again: the call runs by itself once it is approved.',
    true,
  ],
  [
    'approveHere',
    'Approve at the client',
    'Clients that can open an address lead the person there to the approval’s page, where whoever may answer signs in.',
    false,
  ],
] as const;

export function ForClients({ current }: { current?: Key }) {
  const id = useId();
  return (
    <fieldset class="choices">
      <legend>If a call through its MCP proxy waits</legend>
      {SWITCHES.map(([name, label, sentence, usual]) => (
        <div key={name} class="field">
          <label class="check">
            <input
              type="checkbox"
              name={name}
              aria-describedby={`${id}-${name}`}
              defaultChecked={current?.[name] ?? usual}
            />
            {label}
          </label>
          <p id={`${id}-${name}`} class="hint">
            {sentence}
          </p>
        </div>
      ))}
    </fieldset>
  );
}

export const forClientsIn = (form: FormData) => ({
  tasks: form.has('tasks'),
  approveHere: form.has('approveHere'),
});

export function atClients({ tasks, approveHere }: Key): string {
  const waits = tasks ? 'a call that waits is a task' : 'no tasks';
  return approveHere ? `${waits}; the person there is sent to the approval` : waits;
}
