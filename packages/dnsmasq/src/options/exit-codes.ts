/** dnsmasq's exit codes for a bad option and for a file that cannot be read (src/dnsmasq.h). */
export const EXIT_BAD_CONFIGURATION = 1;
export const EXIT_BAD_FILE = 3;
/** The same for a script that fails (src/option.c, one_file). */
export const EXIT_BAD_SCRIPT = 10;
