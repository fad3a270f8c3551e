// The check of forwarded calls: whether there are some of which nobody knows whether they ran.

import { unsettledCalls } from '../store/backlogs.ts';
import { type Examination, good, warning } from './examine.ts';
import { type Examined, withStore } from './examined.ts';

const NAME = 'calls';

export function callsCheck(examined: Examined): Examination {
  return {
    name: NAME,
    run: () =>
      withStore(examined, async db => {
        const { count } = await unsettledCalls(db);
        if (count === 0)
          return [
            good(NAME, 'Of every forwarded call it is known whether it ran, or somebody has settled it.'),
          ];
        const which =
          count === 1 ? '1 call it is not known whether it' : `${count} calls it is not known whether they`;
        const toDo = 'Look at what the tool did, and settle it: toolgate calls list --unknown.';
        return [warning(NAME, `Of ${which} ran. ${toDo}`)];
      }),
  };
}
