#!/bin/sh
# Starts one job (scan, look-back, plan, sweep or prune) by calling `trigger`: for cron, systemd timers, or by hand.
#
#   LEDGERMAIL_TRIGGER_URL=https://ledgermail-trigger-NUMBER.REGION.run.app LEDGERMAIL_TRIGGER_KEY=... trigger.sh scan
#
# In a crontab:
#   * * * * *     . /etc/ledgermail && trigger.sh scan
#   17 * * * *    . /etc/ledgermail && trigger.sh look-back
#   */5 * * * *   . /etc/ledgermail && trigger.sh plan
#   */5 * * * *   . /etc/ledgermail && trigger.sh sweep
#   40 3,15 * * * . /etc/ledgermail && trigger.sh prune
#
# The key is given on standard input: on the command line every user of the machine could read it. A repeated call does no
# harm, so it is tried again.
set -eu
printf 'header = "X-Ledgermail-Key: %s"\n' "${LEDGERMAIL_TRIGGER_KEY:?}" |
  curl --config - --fail-with-body --silent --show-error --max-time 60 --retry 3 --retry-connrefused \
    --request POST "${LEDGERMAIL_TRIGGER_URL:?}/?job=${1:?scan, look-back, plan, sweep or prune}"
