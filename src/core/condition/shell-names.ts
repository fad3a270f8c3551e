// Which names of commands `shell.commands` takes for plain ones. Not plain are words of the shell's grammar, builtins that
// change what later words mean or that evaluate their arguments, and programs whose arguments are another command: whoever
// allows or forbids commands by name would otherwise never see the name of the one that is run.

/** Letters, digits and a little more. `%1` is a job, `-` a modifier in zsh, `A=1` an assignment, a folder may be entered. */
const PLAIN_NAME = /^(?:[A-Za-z0-9_./][A-Za-z0-9_./+-]*|:)$/;

const words = (text: string) => new Set(text.trim().split(/\s+/));

const GRAMMAR = words(`
  if then else elif fi for foreach in do done while until repeat case esac select function time coproc always end
  nocorrect noglob`);

/** Builtins of bash, dash or zsh that are not plain. */
const BUILTINS = words(`
  . source eval exec command builtin trap alias unalias hash unhash rehash enable disable fc history r hist
  set unset setopt unsetopt shopt emulate export readonly declare typeset local integer float private nameref let
  read readarray mapfile getln pushln print vared getopts shift return break continue bg fg jobs disown wait suspend
  logout bye ulimit limit unlimit bind bindkey complete compgen compopt compadd comparguments compcall compctl
  compdescribe compfiles compgroups compquote compset comptags comptry compvalues autoload functions unfunction sched
  echotc echoti ttyctl zcompile zformat zle zmodload zparseopts zregexparse zstyle zsystem`);

const RUN_ANOTHER = words(`
  sh bash rbash dash ash zsh ksh mksh yash fish csh tcsh pwsh powershell cmd busybox toybox env xargs parallel sudo doas
  su runuser pkexec newgrp sg login nohup nice ionice chrt taskset timeout gtimeout gtime stdbuf setsid setpriv chroot
  unshare nsenter flock watch entr script strace ltrace systemd-run start-stop-daemon caffeinate at batch`);

/** Their arguments can be arithmetic, in zsh also those of `exit`, and arithmetic can assign and run commands. */
const CALCULATING = words('test printf exit kill');
const CALCULATION = /[[+$`(]|=.|.=|--/s;

export function isPlainCommand(name: string, args: readonly string[]): boolean {
  if (!PLAIN_NAME.test(name)) return false;
  const program = name.slice(name.lastIndexOf('/') + 1).replace(/\.exe$/i, '');
  if (program === '' || program === '.' || program === '..') return false;
  if (GRAMMAR.has(program) || BUILTINS.has(program)) return false;
  // Some file systems do not tell `SH` from `sh`.
  if (RUN_ANOTHER.has(program.toLowerCase())) return false;
  if (!CALCULATING.has(program)) return true;
  // `printf -v PATH …` assigns.
  return (
    !args.some(arg => CALCULATION.test(arg) && arg !== '!=') &&
    !(program === 'printf' && /^-/.test(args[0] ?? ''))
  );
}
