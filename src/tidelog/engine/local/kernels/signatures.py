"""The kernels that Python calls, with their parameters, which like all results are integers of 64 bits."""

from __future__ import annotations

from typing import Final

__all__ = ["SIGNATURES"]

SIGNATURES: Final = {
    "add_rows": "relation data_at count rows",
    "all_fit": "data_at count",
    "apply_emitted": "relation mode rank heads count out",
    "apply_heads": "relation mode rank heads count stride highest origins values out",
    "apply_rows": "relation mode rank rows count out",
    "assert_rows": "relation data_at count new",
    "changed": "old_rows old_words old old_size rows words ids size compared equal found",
    "close_gaps": "relation firsts lasts shares",
    "collect": "relation index keys count found capacity",
    "components": "starts targets size component order lowest stack path at",
    "copy_codes": "cells stride wide arity rows count out",
    "count_more": "nodes count rows words ids size less less_words less_ids less_size compared counts",
    "count_pairs": "rows words ids size counts",
    "cover": "index relation",
    "end_round": "relation mode",
    "enlarge": "slots larger smaller size",
    "enlarge_best": "best smaller before size",
    "fill": "step to base_step base component members first count row_of marks joined rows words start most",
    "find_rows": "relation data_at count rows",
    "group": "first second count size starts targets",
    "group_rows": "index relation buckets",
    "hurry": "loop rank most large enough steps how",
    "insert_share": "relation rank heads count share shares out",
    "intern_texts": "texts offsets is_long content missing first count adds codes",
    "leads_to": "starts targets x goal_starts goal z most seen queue",
    "link": "trace",
    "lowest_ranks": "step to base_step base component members first count ranks width lowest",
    "lose_rows": "relation rows count",
    "merge": "relation index fresh size merged",
    "next_improved": "relation is_cut cut",
    "pairs": "nodes count rows words ids size less less_words less_ids less_size out",
    "publish": "relation whole",
    "publish_weights": "trace",
    "reaching": "step to component members first count touched marks",
    "retract_rows": "relation data_at count gone",
    "run": "code rank list_at list_len steps resume",
    "run_parts": "loop most steps",
    "settle": "relation whole inserted deleted out",
    "sift": "relation iteration departing arriving out",
    "slot_rows": "relation first",
    "soonest_queue": "trace iteration",
    "transpose": "rows words ids size first last block out out_words",
    "undo_weights": "trace",
}
