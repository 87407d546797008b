"""What learners are made of: policies, critics and their views, optimisers, schedules, memories."""
