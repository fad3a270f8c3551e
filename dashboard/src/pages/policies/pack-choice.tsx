// Offers the packs, policies to begin with: the text of the chosen one goes into the editor, where undo brings back what
// was there before.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { Field } from '../../components/field.tsx';
import { Problem } from '../../components/states.tsx';
import { useGet } from '../../load.ts';
import type { Pack } from '../../resources.ts';

const HINT = 'A policy that is written for real tool servers. Put in your own names, as its first lines say.';

export function PackChoice({ onChosen }: { onChosen: (text: string) => void }) {
  const { data, error } = useGet<{ packs: Pack[] }>('/packs');
  const [name, setName] = useState('');
  const packs = data?.packs ?? [];
  const pack = packs.find(each => each.name === name);
  const use = ({ text }: Pack) => {
    onChosen(text);
    announce(`In the editor now: ${name}`);
  };
  return (
    <div class="stack">
      <Problem error={error} />
      <Field label="Start from a pack" hint={pack?.description ?? HINT}>
        {ties => (
          <select {...ties} value={name} onChange={event => setName(event.currentTarget.value)}>
            <option value="">Choose a pack…</option>
            {packs.map(each => (
              <option key={each.name} value={each.name}>
                {each.name}: {each.title}
              </option>
            ))}
          </select>
        )}
      </Field>
      <div class="actions">
        <button type="button" class="plain" disabled={pack === undefined} onClick={() => pack && use(pack)}>
          Use its text
        </button>
      </div>
    </div>
  );
}
