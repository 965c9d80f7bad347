"""Attribution T: what each training row does for each evaluation row."""
